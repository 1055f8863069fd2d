CREATE TABLE "imported_hash_kinds" (
	"kind" text collate "C" PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_changes" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"user_id" text collate "C",
	"kind" text collate "C" NOT NULL,
	"change_id" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_documents" (
	"user_id" text collate "C" NOT NULL,
	"author" text collate "C" NOT NULL,
	"content" text NOT NULL,
	"version" text collate "C" NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "user_documents_user_id_author_pk" PRIMARY KEY("user_id","author")
);
--> statement-breakpoint
CREATE TABLE "access_states" (
	"user_id" text collate "C" NOT NULL,
	"environment" text collate "C" NOT NULL,
	"state" text NOT NULL,
	"changes_at" bigint,
	CONSTRAINT "access_states_user_id_environment_pk" PRIMARY KEY("user_id","environment")
);
--> statement-breakpoint
CREATE TABLE "usage_counters" (
	"user_id" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"starts_at" bigint NOT NULL,
	"ends_at" bigint,
	"used" bigint NOT NULL,
	"reached_limit" bigint,
	CONSTRAINT "usage_counters_user_id_name_starts_at_pk" PRIMARY KEY("user_id","name","starts_at")
);
--> statement-breakpoint
CREATE TABLE "usage_history" (
	"user_id" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"month" text collate "C" NOT NULL,
	"used" bigint NOT NULL,
	CONSTRAINT "usage_history_user_id_name_month_pk" PRIMARY KEY("user_id","name","month")
);
--> statement-breakpoint
CREATE TABLE "usage_requests" (
	"user_id" text collate "C" NOT NULL,
	"key" text collate "C" NOT NULL,
	"hash" text collate "C" NOT NULL,
	"outcome" text NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "usage_requests_user_id_key_pk" PRIMARY KEY("user_id","key")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text collate "C" NOT NULL,
	"prefix" text collate "C" NOT NULL,
	"hash" text collate "C" NOT NULL,
	"scopes" text NOT NULL,
	"networks" text NOT NULL,
	"requests_per_minute" bigint,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"revoked_at" bigint,
	"last_used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"url" text collate "C" NOT NULL,
	"description" text collate "C" NOT NULL,
	"events" text NOT NULL,
	"secret" text collate "C" NOT NULL,
	"former_secret" text collate "C",
	"former_secret_until" bigint,
	"created_at" bigint NOT NULL,
	"failing_since" bigint,
	"failed_at" bigint,
	"disabled_at" bigint,
	"disabled_reason" text collate "C"
);
--> statement-breakpoint
CREATE TABLE "webhook_messages" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"type" text collate "C" NOT NULL,
	"user_id" text collate "C",
	"data" text collate "C" NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"endpoint_id" text collate "C" NOT NULL,
	"state" text collate "C" NOT NULL,
	"attempts" bigint NOT NULL,
	"due_at" bigint
);
--> statement-breakpoint
CREATE TABLE "webhook_attempts" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"delivery_id" text collate "C" NOT NULL,
	"at" bigint NOT NULL,
	"duration" bigint NOT NULL,
	"status" bigint,
	"fault" text collate "C",
	"reply" text collate "C" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "user_changes" ADD CONSTRAINT "user_changes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_documents" ADD CONSTRAINT "user_documents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "access_states" ADD CONSTRAINT "access_states_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_counters" ADD CONSTRAINT "usage_counters_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_history" ADD CONSTRAINT "usage_history_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_requests" ADD CONSTRAINT "usage_requests_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_message_id_webhook_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."webhook_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_webhook_endpoints_id_fk" FOREIGN KEY ("endpoint_id") REFERENCES "public"."webhook_endpoints"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_webhook_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."webhook_deliveries"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "user_changes_user" ON "user_changes" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "user_changes_change" ON "user_changes" USING btree ("change_id");--> statement-breakpoint
CREATE INDEX "access_states_change" ON "access_states" USING btree ("changes_at");--> statement-breakpoint
CREATE INDEX "usage_counters_most" ON "usage_counters" USING btree ("name","used");--> statement-breakpoint
CREATE INDEX "usage_counters_end" ON "usage_counters" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "usage_history_month" ON "usage_history" USING btree ("month");--> statement-breakpoint
CREATE INDEX "usage_requests_at" ON "usage_requests" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_name" ON "api_keys" USING btree ("name") WHERE "api_keys"."revoked_at" IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "webhook_messages_user" ON "webhook_messages" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "webhook_messages_created" ON "webhook_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_message" ON "webhook_deliveries" USING btree ("message_id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("endpoint_id","due_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_endpoint" ON "webhook_deliveries" USING btree ("endpoint_id","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_state" ON "webhook_deliveries" USING btree ("state","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_endpoint_state" ON "webhook_deliveries" USING btree ("endpoint_id","state","id");--> statement-breakpoint
CREATE INDEX "webhook_attempts_delivery" ON "webhook_attempts" USING btree ("delivery_id");