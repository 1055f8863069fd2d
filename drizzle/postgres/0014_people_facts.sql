CREATE TABLE "operator_views" (
	"operator_id" text collate "C" NOT NULL,
	"name" text collate "C" NOT NULL,
	"path" text collate "C" NOT NULL,
	"search" text collate "C" NOT NULL,
	CONSTRAINT "operator_views_operator_id_name_pk" PRIMARY KEY("operator_id","name")
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "last_seen_at" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "platform" text collate "C";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "country" text collate "C";--> statement-breakpoint
ALTER TABLE "access_states" ADD COLUMN "status" text collate "C";--> statement-breakpoint
ALTER TABLE "access_states" ADD COLUMN "plan" text collate "C";--> statement-breakpoint
ALTER TABLE "operator_views" ADD CONSTRAINT "operator_views_operator_id_operators_id_fk" FOREIGN KEY ("operator_id") REFERENCES "public"."operators"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "users_created" ON "users" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "users_seen" ON "users" USING btree ("last_seen_at","id");--> statement-breakpoint
CREATE INDEX "users_platform" ON "users" USING btree ("platform","id");--> statement-breakpoint
CREATE INDEX "users_country" ON "users" USING btree ("country","id");--> statement-breakpoint
CREATE INDEX "users_guests" ON "users" USING btree ("id") WHERE "users"."login_type" = 'guest';--> statement-breakpoint
CREATE INDEX "users_not_guests" ON "users" USING btree ("id") WHERE "users"."login_type" <> 'guest';--> statement-breakpoint
CREATE INDEX "access_states_status" ON "access_states" USING btree ("status","user_id");--> statement-breakpoint
CREATE INDEX "access_states_plan" ON "access_states" USING btree ("plan","user_id");