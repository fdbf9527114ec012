"""Who may read and who may change something: tokens, logins, sessions, an issuer's signatures."""
