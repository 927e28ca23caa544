ALTER TABLE "readers"
  ADD COLUMN "badges" TEXT[] NOT NULL DEFAULT '{}',
  ADD COLUMN "assigned_badges" TEXT[] NOT NULL DEFAULT '{}',
  ADD COLUMN "claimed_badges" TEXT[] NOT NULL DEFAULT '{}';
