-- External ids of 512 characters instead of 255. A release that knows no longer ones goes on with these.
ALTER TABLE discussions
  DROP CONSTRAINT discussions_external_id,
  ADD CONSTRAINT discussions_external_id_512 CHECK (char_length(external_id) BETWEEN 1 AND 512) NOT VALID;
