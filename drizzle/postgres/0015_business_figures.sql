CREATE TABLE "purchase_periods" (
	"line_key" text collate "C" PRIMARY KEY NOT NULL,
	"periods" text collate "C" NOT NULL,
	"replaced_by" text collate "C"
);
--> statement-breakpoint
CREATE TABLE "business_sums" (
	"environment" text collate "C" NOT NULL,
	"series" text collate "C" NOT NULL,
	"period" text collate "C" NOT NULL,
	"item" text collate "C" NOT NULL,
	"sum" bigint NOT NULL,
	CONSTRAINT "business_sums_environment_series_period_item_pk" PRIMARY KEY("environment","series","period","item")
);
--> statement-breakpoint
CREATE TABLE "changed_purchases" (
	"line_key" text collate "C" PRIMARY KEY NOT NULL,
	"changes" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "purchase_periods_replaced" ON "purchase_periods" USING btree ("replaced_by") WHERE "purchase_periods"."replaced_by" IS NOT NULL;