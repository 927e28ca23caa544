-- The trace of the write, where it was sampled: its deliveries are linked to it.
ALTER TABLE events ADD COLUMN trace text;
