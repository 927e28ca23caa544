-- Former external ids of discussions, which lead to them until they expire. An expired row stays until
-- another discussion has been given the id and gives it up again.
CREATE TABLE discussion_aliases (
  tenant_id uuid NOT NULL,
  external_id text NOT NULL,
  discussion_id uuid NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, external_id),
  FOREIGN KEY (tenant_id, discussion_id) REFERENCES discussions (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX discussion_aliases_tenant_id_discussion_id_idx ON discussion_aliases (tenant_id, discussion_id);

-- After the row, not before it: a write that waited for the discussion that gave the id up, in the unique index of
-- external ids, began before that discussion's alias was committed. Each statement of this function sees it.
CREATE FUNCTION discussions_refuse_alias() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM discussion_aliases
    WHERE tenant_id = NEW.tenant_id AND external_id = NEW.external_id AND discussion_id <> NEW.id AND expires_at > now();
  IF FOUND THEN
    RAISE unique_violation USING MESSAGE = 'the external id leads to another discussion',
      TABLE = 'discussion_aliases', CONSTRAINT = 'discussion_aliases_pkey';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER discussions_no_alias AFTER INSERT OR UPDATE OF external_id ON discussions
  FOR EACH ROW EXECUTE FUNCTION discussions_refuse_alias();
