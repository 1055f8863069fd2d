CREATE TABLE "users" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"login_type" text collate "C" NOT NULL,
	"email" text collate "C",
	"email_key" text collate "C",
	"email_verified_at" bigint,
	"password_hash" text collate "C",
	"name" text collate "C" NOT NULL,
	"locale" text collate "C" NOT NULL,
	"timezone" text collate "C" NOT NULL,
	"currency" text collate "C" NOT NULL,
	"avatar_key" text collate "C",
	"onboarding_completed" boolean NOT NULL,
	"two_factor_secret" text collate "C",
	"two_factor_since" bigint,
	"two_factor_step" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"device" text collate "C" NOT NULL,
	"sealed" boolean DEFAULT false NOT NULL,
	"generation" bigint NOT NULL,
	"repeated_generation" bigint,
	"created_at" bigint NOT NULL,
	"last_used_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"hash" text collate "C" PRIMARY KEY NOT NULL,
	"session_id" text collate "C" NOT NULL,
	"generation" bigint NOT NULL,
	"first_used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"provider" text collate "C" NOT NULL,
	"subject" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"email" text collate "C",
	"grant" text collate "C",
	"created_at" bigint NOT NULL,
	CONSTRAINT "identities_provider_subject_pk" PRIMARY KEY("provider","subject")
);
--> statement-breakpoint
CREATE TABLE "one_time_tokens" (
	"hash" text collate "C" PRIMARY KEY NOT NULL,
	"purpose" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"email" text collate "C",
	"failures" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"user_id" text collate "C" NOT NULL,
	"hash" text collate "C" NOT NULL,
	CONSTRAINT "recovery_codes_user_id_hash_pk" PRIMARY KEY("user_id","hash")
);
--> statement-breakpoint
CREATE TABLE "known_devices" (
	"user_id" text collate "C" NOT NULL,
	"device" text collate "C" NOT NULL,
	"seen_at" bigint NOT NULL,
	CONSTRAINT "known_devices_user_id_device_pk" PRIMARY KEY("user_id","device")
);
--> statement-breakpoint
CREATE TABLE "attachments" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"type" text collate "C" NOT NULL,
	"file_name" text collate "C" NOT NULL,
	"item_type" text collate "C" NOT NULL,
	"size" bigint NOT NULL,
	"width" bigint,
	"height" bigint,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "variants" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"original" text collate "C" NOT NULL,
	"size" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "upload_retries" (
	"user_id" text collate "C" NOT NULL,
	"retry_key" text collate "C" NOT NULL,
	"fingerprint" text collate "C",
	"answer" text NOT NULL,
	"expires_at" bigint NOT NULL,
	CONSTRAINT "upload_retries_user_id_retry_key_pk" PRIMARY KEY("user_id","retry_key")
);
--> statement-breakpoint
CREATE TABLE "billing_events" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"provider" text collate "C" NOT NULL,
	"event_id" text collate "C" NOT NULL,
	"type" text collate "C" NOT NULL,
	"event_at" bigint,
	"received_at" bigint NOT NULL,
	"ordered_at" bigint DEFAULT 0 NOT NULL,
	"line_key" text collate "C",
	"body" "bytea" NOT NULL,
	"body_hash" text collate "C" NOT NULL,
	"environment" text collate "C",
	"app_user_id" text collate "C",
	"outcome" text collate "C" NOT NULL,
	"error" text collate "C",
	"duplicates" bigint NOT NULL,
	"conflicting" boolean NOT NULL,
	"clock_is_off" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "billing_aliases" (
	"app_user_id" text collate "C" PRIMARY KEY NOT NULL,
	"customer_id" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"line_key" text collate "C" PRIMARY KEY NOT NULL,
	"customer_id" text collate "C" NOT NULL,
	"environment" text collate "C" NOT NULL,
	"state" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "line_checkpoints" (
	"line_key" text collate "C" NOT NULL,
	"up_to" bigint NOT NULL,
	"state" text NOT NULL,
	CONSTRAINT "line_checkpoints_line_key_up_to_pk" PRIMARY KEY("line_key","up_to")
);
--> statement-breakpoint
CREATE TABLE "stale_lines" (
	"line_key" text collate "C" PRIMARY KEY NOT NULL,
	"since" bigint NOT NULL,
	"until" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "stale_customers" (
	"customer_id" text collate "C" PRIMARY KEY NOT NULL,
	"after_line" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "line_holders" (
	"line_key" text collate "C" NOT NULL,
	"customer_id" text collate "C" NOT NULL,
	CONSTRAINT "line_holders_line_key_customer_id_pk" PRIMARY KEY("line_key","customer_id")
);
--> statement-breakpoint
CREATE TABLE "transfer_ids" (
	"app_user_id" text collate "C" NOT NULL,
	"event_row" text collate "C" NOT NULL,
	"is_source" boolean NOT NULL,
	CONSTRAINT "transfer_ids_app_user_id_event_row_is_source_pk" PRIMARY KEY("app_user_id","event_row","is_source")
);
--> statement-breakpoint
CREATE TABLE "billing_tombstones" (
	"pseudonym" text collate "C" PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "plans" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"code" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"fields" text NOT NULL,
	"archived_at" bigint
);
--> statement-breakpoint
CREATE TABLE "faqs" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"position" bigint NOT NULL,
	"question" text NOT NULL,
	"answer" text NOT NULL,
	"category" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "content_versions" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rate_sets" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"provider" text collate "C" NOT NULL,
	"base_code" text collate "C" NOT NULL,
	"date" text collate "C" NOT NULL,
	"published_at" bigint NOT NULL,
	"stored_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "rates" (
	"set_id" text collate "C" NOT NULL,
	"code" text collate "C" NOT NULL,
	"rate" double precision NOT NULL,
	CONSTRAINT "rates_set_id_code_pk" PRIMARY KEY("set_id","code")
);
--> statement-breakpoint
CREATE TABLE "rate_feeds" (
	"provider" text collate "C" PRIMARY KEY NOT NULL,
	"set_id" text collate "C",
	"etag" text collate "C",
	"last_modified" text collate "C",
	"succeeded_at" bigint,
	"held" text
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"kind" text collate "C" NOT NULL,
	"content" text collate "C" NOT NULL,
	"attempts" bigint NOT NULL,
	"due_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "limits" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"count" bigint NOT NULL,
	"until" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sealed_requests" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"forget_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "shared_versions" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "timer_runs" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"slot" bigint NOT NULL,
	"claim" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "shared_secrets" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"content" text collate "C" NOT NULL,
	"version" bigint DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "known_devices" ADD CONSTRAINT "known_devices_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "variants" ADD CONSTRAINT "variants_original_attachments_key_fk" FOREIGN KEY ("original") REFERENCES "public"."attachments"("key") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "upload_retries" ADD CONSTRAINT "upload_retries_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rates" ADD CONSTRAINT "rates_set_id_rate_sets_id_fk" FOREIGN KEY ("set_id") REFERENCES "public"."rate_sets"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rate_feeds" ADD CONSTRAINT "rate_feeds_set_id_rate_sets_id_fk" FOREIGN KEY ("set_id") REFERENCES "public"."rate_sets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree ("email_key");--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "refresh_tokens_generation" ON "refresh_tokens" USING btree ("session_id","generation");--> statement-breakpoint
CREATE INDEX "identities_user" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "one_time_tokens_user" ON "one_time_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "attachments_user" ON "attachments" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "variants_original" ON "variants" USING btree ("original");--> statement-breakpoint
CREATE UNIQUE INDEX "billing_events_event" ON "billing_events" USING btree ("provider","event_id");--> statement-breakpoint
CREATE INDEX "billing_events_user" ON "billing_events" USING btree ("app_user_id","ordered_at");--> statement-breakpoint
CREATE INDEX "billing_events_line" ON "billing_events" USING btree ("line_key","ordered_at");--> statement-breakpoint
CREATE INDEX "billing_events_failed" ON "billing_events" USING btree ("outcome") WHERE "billing_events"."outcome" = 'failed';--> statement-breakpoint
CREATE INDEX "billing_aliases_customer" ON "billing_aliases" USING btree ("customer_id");--> statement-breakpoint
CREATE INDEX "subscriptions_customer" ON "subscriptions" USING btree ("customer_id");--> statement-breakpoint
CREATE INDEX "line_holders_customer" ON "line_holders" USING btree ("customer_id");--> statement-breakpoint
CREATE UNIQUE INDEX "plans_code" ON "plans" USING btree ("code");--> statement-breakpoint
CREATE UNIQUE INDEX "rate_sets_date" ON "rate_sets" USING btree ("provider","date");