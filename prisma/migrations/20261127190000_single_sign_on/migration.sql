ALTER TABLE "members" ADD COLUMN "oidc_issuer" TEXT, ADD COLUMN "oidc_subject" TEXT;

ALTER TABLE "sign_ins" ADD COLUMN "by_sign_on" BOOLEAN NOT NULL DEFAULT false;
