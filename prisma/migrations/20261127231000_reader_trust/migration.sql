CREATE TYPE "reader_trust" AS ENUM ('normal', 'hold', 'never_hold');
ALTER TABLE "readers" ADD COLUMN "trust" "reader_trust" NOT NULL DEFAULT 'normal';
