-- Until when an endpoint's deliveries wait, because its receiver has asked for it (Retry-After).
ALTER TABLE webhook_endpoints ADD COLUMN paused_until timestamptz(3);
