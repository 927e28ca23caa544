-- `own` events go to streams of their recipient alone. The recipient of a `public` event does not get it: they get an
-- `own` event in its place. After an erasure the recipient is null.
ALTER TABLE events
  DROP CONSTRAINT events_audience,
  DROP CONSTRAINT events_recipient,
  ADD CONSTRAINT events_audience_of CHECK (CASE audience
    WHEN 'public' THEN true
    WHEN 'tenant' THEN recipient_id IS NULL
    WHEN 'recipient' THEN recipient_id IS NOT NULL
    WHEN 'own' THEN true
    ELSE false END) NOT VALID;
