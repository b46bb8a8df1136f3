#!/bin/sh
# At the first start of the PostgreSQL of compose.stores.yaml: a user for Sluice, and a database
# that it owns. That is all it needs: docs/operations.md, "Databases of your own".
set -eu
psql -v ON_ERROR_STOP=1 -U postgres <<'SQL'
\getenv password SLUICE_PASSWORD
CREATE ROLE sluice LOGIN PASSWORD :'password';
CREATE DATABASE sluice OWNER sluice;
SQL
