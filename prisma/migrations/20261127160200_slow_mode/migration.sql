ALTER TABLE "discussions" ADD COLUMN "slow_mode_seconds" INTEGER;
