CREATE TABLE "purchase_usage" (
	"purchase_key" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"starts_at" bigint NOT NULL,
	"ends_at" bigint,
	"used" bigint NOT NULL,
	CONSTRAINT "purchase_usage_purchase_key_name_starts_at_pk" PRIMARY KEY("purchase_key","name","starts_at")
);
--> statement-breakpoint
CREATE INDEX "purchase_usage_end" ON "purchase_usage" USING btree ("ends_at");