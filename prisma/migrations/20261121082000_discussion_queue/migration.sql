-- CreateIndex
CREATE INDEX "comments_to_moderate_of_discussion" ON "comments"("tenant_id", "discussion_id", "status", "id") WHERE (status IN ('pending', 'rejected'));

-- CreateIndex
CREATE INDEX "comments_reported_of_discussion" ON "comments"("tenant_id", "discussion_id", "id") WHERE (report_count > reports_answered OR flagged);
