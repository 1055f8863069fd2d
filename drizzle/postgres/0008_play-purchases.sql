CREATE TABLE "play_purchases" (
	"token_hash" text collate "C" PRIMARY KEY NOT NULL,
	"sealed_token" text collate "C" NOT NULL,
	"package_name" text collate "C" NOT NULL,
	"kind" text collate "C",
	"product_id" text collate "C",
	"line" text collate "C",
	"items" text NOT NULL,
	"linked_hash" text collate "C",
	"urgency" bigint NOT NULL,
	"due_at" bigint,
	"mark" text collate "C" NOT NULL,
	"leased_until" bigint NOT NULL,
	"attempts" bigint NOT NULL,
	"misses" bigint NOT NULL,
	"asked_at" bigint,
	"unacknowledged_since" bigint,
	"gone_at" bigint
);
--> statement-breakpoint
CREATE TABLE "play_claims" (
	"token_hash" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"take_over" boolean NOT NULL,
	"expires_at" bigint NOT NULL,
	CONSTRAINT "play_claims_token_hash_user_id_pk" PRIMARY KEY("token_hash","user_id")
);
--> statement-breakpoint
CREATE INDEX "play_purchases_due" ON "play_purchases" USING btree ("urgency","due_at");--> statement-breakpoint
CREATE INDEX "play_purchases_line" ON "play_purchases" USING btree ("line");--> statement-breakpoint
CREATE INDEX "play_purchases_unacknowledged" ON "play_purchases" USING btree ("unacknowledged_since");--> statement-breakpoint
CREATE INDEX "play_claims_user" ON "play_claims" USING btree ("user_id");