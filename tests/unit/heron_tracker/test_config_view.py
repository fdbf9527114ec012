"""Configurations on pages have no passwords, in whatever form a driver takes them."""

import pytest

from heron_tracker.model.config_view import shown_config


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("host=db password=x1 dbname=shop", "host=db password=***** dbname=shop"),
        (r"host=db password = 'x \' 1' user=a", "host=db password = ***** user=a"),
        ("Server=db;Pwd=x;Database=shop", "Server=db;Pwd=*****;Database=shop"),
        ("host=db sslpassword=x", "host=db sslpassword=*****"),
        ("db://ada:x1@host/shop?password=x1&a=1", "db://*****@host/shop?password=*****&a=1"),
        ("host=db passfile=/run/pgpass", "host=db passfile=/run/pgpass"),
        ("the password is in a file", "the password is in a file"),
    ],
)
def test_a_password_inside_of_a_text_is_hidden(value: str, shown: str) -> None:
    config = {"database.connect": value, "nested": [{"url": value}]}
    assert shown_config(config) == {"database.connect": shown, "nested": [{"url": shown}]}
