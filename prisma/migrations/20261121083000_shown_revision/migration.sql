-- AlterTable
ALTER TABLE "comments" ADD COLUMN     "shown_revision" INTEGER NOT NULL DEFAULT 1;
