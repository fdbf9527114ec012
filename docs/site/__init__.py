"""The site: pages of docs, the reference of the API, and the sources that pages name."""
