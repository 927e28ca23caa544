CREATE TYPE "site_guests" AS ENUM ('off', 'email');

ALTER TABLE "sites" ADD COLUMN "guests" "site_guests" NOT NULL DEFAULT 'off';
