CREATE TABLE "import_uploads" (
  "tenant_id" UUID NOT NULL,
  "id" UUID NOT NULL,
  "source" TEXT NOT NULL,
  "file_name" TEXT NOT NULL,
  "bytes" INTEGER NOT NULL,
  "options" JSONB NOT NULL DEFAULT '{}',
  "bytes_read" INTEGER NOT NULL DEFAULT 0,
  "attempts" INTEGER NOT NULL DEFAULT 0,
  "rehearsal" JSONB,
  "import_id" UUID,
  "report" JSONB,
  "error" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "completed_at" TIMESTAMPTZ(3),
  "rehearsed_at" TIMESTAMPTZ(3),
  "started_at" TIMESTAMPTZ(3),
  "ended_at" TIMESTAMPTZ(3),
  "expires_at" TIMESTAMPTZ(3),

  CONSTRAINT "import_uploads_pkey" PRIMARY KEY ("tenant_id", "id"),
  FOREIGN KEY ("tenant_id") REFERENCES "tenants" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "import_upload_parts" (
  "tenant_id" UUID NOT NULL,
  "upload_id" UUID NOT NULL,
  "n" INTEGER NOT NULL,
  "bytes" BYTEA NOT NULL,

  CONSTRAINT "import_upload_parts_pkey" PRIMARY KEY ("tenant_id", "upload_id", "n"),
  FOREIGN KEY ("tenant_id", "upload_id") REFERENCES "import_uploads" ("tenant_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "import_uploads_waiting" ON "import_uploads" ("id") WHERE expires_at IS NULL;
