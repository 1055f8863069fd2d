CREATE TABLE "stripe_customers" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"environment" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"is_current" boolean NOT NULL,
	"email_hash" text collate "C"
);
--> statement-breakpoint
CREATE TABLE "stripe_checkouts" (
	"user_id" text collate "C" NOT NULL,
	"environment" text collate "C" NOT NULL,
	"attempt" text collate "C" NOT NULL,
	"request" text collate "C" NOT NULL,
	"params" text NOT NULL,
	"created_at" bigint NOT NULL,
	"session_id" text collate "C",
	CONSTRAINT "stripe_checkouts_user_id_environment_pk" PRIMARY KEY("user_id","environment")
);
--> statement-breakpoint
CREATE TABLE "stripe_objects" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"environment" text collate "C" NOT NULL,
	"task" text collate "C" NOT NULL,
	"customer" text collate "C",
	"user_id" text collate "C",
	"items" text NOT NULL,
	"is_paid_back" boolean NOT NULL,
	"due_at" bigint,
	"mark" text collate "C" NOT NULL,
	"leased_until" bigint NOT NULL,
	"attempts" bigint NOT NULL,
	"asked_at" bigint
);
--> statement-breakpoint
CREATE INDEX "stripe_customers_user" ON "stripe_customers" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "stripe_objects_due" ON "stripe_objects" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "stripe_objects_customer" ON "stripe_objects" USING btree ("customer");--> statement-breakpoint
CREATE INDEX "stripe_objects_user" ON "stripe_objects" USING btree ("user_id");