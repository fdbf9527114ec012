"""pystorm.serializers: how messages travel over the multi-lang pipe."""
