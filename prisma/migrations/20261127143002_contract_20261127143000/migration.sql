DROP TABLE "admins";
