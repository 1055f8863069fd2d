CREATE TABLE "operators" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text collate "C" NOT NULL,
	"role" text collate "C" NOT NULL,
	"password_hash" text collate "C",
	"totp_secret" text collate "C",
	"totp_step" bigint,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operator_passkeys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"operator_id" text collate "C" NOT NULL,
	"public_key" text collate "C" NOT NULL,
	"counter" bigint NOT NULL,
	"transports" text NOT NULL,
	"host" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"created_at" bigint NOT NULL,
	"last_used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "operator_sessions" (
	"hash" text collate "C" PRIMARY KEY NOT NULL,
	"id" text collate "C" NOT NULL,
	"operator_id" text collate "C" NOT NULL,
	"device" text collate "C" NOT NULL,
	"ip" text collate "C" NOT NULL,
	"created_at" bigint NOT NULL,
	"last_seen_at" bigint NOT NULL,
	"proven_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operator_tokens" (
	"hash" text collate "C" PRIMARY KEY NOT NULL,
	"purpose" text collate "C" NOT NULL,
	"operator_id" text collate "C",
	"content" text collate "C",
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operator_recovery_codes" (
	"operator_id" text collate "C" NOT NULL,
	"hash" text collate "C" NOT NULL,
	CONSTRAINT "operator_recovery_codes_operator_id_hash_pk" PRIMARY KEY("operator_id","hash")
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"at" bigint NOT NULL,
	"operator" text collate "C",
	"origin" text collate "C" NOT NULL,
	"action" text collate "C" NOT NULL,
	"target" text collate "C",
	"before" text,
	"after" text,
	"request_id" text collate "C"
);
--> statement-breakpoint
CREATE TABLE "publications" (
	"kind" text collate "C" NOT NULL,
	"version" bigint NOT NULL,
	"content" text NOT NULL,
	"author" text collate "C",
	"note" text collate "C" NOT NULL,
	"published_at" bigint NOT NULL,
	CONSTRAINT "publications_kind_version_pk" PRIMARY KEY("kind","version")
);
--> statement-breakpoint
CREATE TABLE "samples" (
	"span" text collate "C" NOT NULL,
	"at" bigint NOT NULL,
	"instance" text collate "C" NOT NULL,
	"values" text NOT NULL,
	CONSTRAINT "samples_span_at_instance_pk" PRIMARY KEY("span","at","instance")
);
--> statement-breakpoint
ALTER TABLE "operator_passkeys" ADD CONSTRAINT "operator_passkeys_operator_id_operators_id_fk" FOREIGN KEY ("operator_id") REFERENCES "public"."operators"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_sessions" ADD CONSTRAINT "operator_sessions_operator_id_operators_id_fk" FOREIGN KEY ("operator_id") REFERENCES "public"."operators"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_tokens" ADD CONSTRAINT "operator_tokens_operator_id_operators_id_fk" FOREIGN KEY ("operator_id") REFERENCES "public"."operators"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_recovery_codes" ADD CONSTRAINT "operator_recovery_codes_operator_id_operators_id_fk" FOREIGN KEY ("operator_id") REFERENCES "public"."operators"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "operators_name" ON "operators" USING btree ("name");--> statement-breakpoint
CREATE INDEX "operator_passkeys_operator" ON "operator_passkeys" USING btree ("operator_id");--> statement-breakpoint
CREATE INDEX "operator_sessions_operator" ON "operator_sessions" USING btree ("operator_id");--> statement-breakpoint
CREATE INDEX "audit_entries_action" ON "audit_entries" USING btree ("action","id");--> statement-breakpoint
CREATE INDEX "audit_entries_operator" ON "audit_entries" USING btree ("operator","id");--> statement-breakpoint
CREATE INDEX "audit_entries_target" ON "audit_entries" USING btree ("target","id");--> statement-breakpoint
CREATE INDEX "billing_events_conflicting" ON "billing_events" USING btree ("id") WHERE "billing_events"."conflicting";--> statement-breakpoint
CREATE INDEX "billing_events_clock" ON "billing_events" USING btree ("id") WHERE "billing_events"."clock_is_off";--> statement-breakpoint
CREATE INDEX "billing_events_sandbox" ON "billing_events" USING btree ("id") WHERE "billing_events"."environment" = 'SANDBOX';--> statement-breakpoint
CREATE INDEX "billing_events_rare" ON "billing_events" USING btree ("type","id") WHERE "billing_events"."type" NOT IN ('INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION');