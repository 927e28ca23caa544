-- AlterTable
ALTER TABLE "admins" ADD COLUMN     "credential_id" UUID;
