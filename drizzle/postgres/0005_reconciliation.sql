CREATE TABLE "reconciliation" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"after_purchase" text collate "C" NOT NULL
);
