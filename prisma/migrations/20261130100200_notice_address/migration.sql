ALTER TABLE "notice_channels" ALTER COLUMN "sealed" DROP NOT NULL;
