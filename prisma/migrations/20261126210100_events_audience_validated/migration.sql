ALTER TABLE events VALIDATE CONSTRAINT events_audience_of;
