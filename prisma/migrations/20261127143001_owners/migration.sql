-- few rows

-- Every admin of before is an owner.
INSERT INTO "accounts" ("id", "email", "password_hash", "created_at")
SELECT "id", "email", "password_hash", "created_at" FROM "admins";

INSERT INTO "members" ("tenant_id", "id", "email", "role", "account_id", "created_at")
SELECT "tenant_id", "id", "email", 'owner', "id", "created_at" FROM "admins";
