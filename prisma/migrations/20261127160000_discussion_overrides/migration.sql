CREATE TYPE "moderation_mode" AS ENUM ('none', 'pre', 'post');
ALTER TABLE "discussions" ADD COLUMN "moderation_mode" "moderation_mode", ADD COLUMN "closes_at" TIMESTAMPTZ(3);
