-- Whether a delivery of a discussion is under way at an endpoint, over all workers. Volatile on purpose, as
-- attempts_in_flight is: it sees what was committed until the endpoint was locked.
CREATE FUNCTION is_in_flight(tenant uuid, endpoint uuid, discussion uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM deliveries
    WHERE tenant_id = tenant AND endpoint_id = endpoint AND status = 'delivering' AND next_attempt_at > now()
      AND discussion_id = discussion);
END
$$;
