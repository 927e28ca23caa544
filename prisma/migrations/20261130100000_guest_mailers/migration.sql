CREATE TABLE "guest_mailers" (
  "tenant_id" UUID NOT NULL,
  "url" TEXT NOT NULL,
  "last_failure_at" TIMESTAMPTZ(3) NOT NULL,
  "last_failure" TEXT NOT NULL,
  "recovered_at" TIMESTAMPTZ(3),

  CONSTRAINT "guest_mailers_pkey" PRIMARY KEY ("tenant_id"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
