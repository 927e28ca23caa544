-- How many direct replies of a comment are in view. Volatile on purpose: called by a statement that has just locked the
-- comment's discussion, it counts what was committed until then.
CREATE FUNCTION replies_in_view(tenant uuid, comment uuid) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT count(*) FROM comments
    WHERE tenant_id = tenant AND parent_id = comment AND (status = 'approved' OR reply_count > 0));
END $$;
