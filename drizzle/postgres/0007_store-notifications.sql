CREATE TABLE "store_notifications" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"last_at" bigint NOT NULL
);
