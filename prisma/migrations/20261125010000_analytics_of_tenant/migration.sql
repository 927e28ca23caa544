-- A fold writes several rows for each delta, all of one tenant: it locks the tenant once, where a foreign key looks the
-- tenant up for each row. What the key did with the rows of a tenant that goes, this does. It waits for a fold under
-- way, also of a release that does not lock the tenant. The next fold removes the deltas.
CREATE FUNCTION analytics_remove_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('analytics ' || OLD.id, 0));
  DELETE FROM analytics_activity WHERE tenant_id = OLD.id;
  DELETE FROM analytics_discussions WHERE tenant_id = OLD.id;
  DELETE FROM analytics_buckets WHERE tenant_id = OLD.id;
  RETURN NULL;
END $$;

CREATE TRIGGER tenants_gone AFTER DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION analytics_remove_tenant();
