CREATE TABLE "user_names" (
	"word" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	CONSTRAINT "user_names_word_user_id_pk" PRIMARY KEY("word","user_id")
);
--> statement-breakpoint
CREATE TABLE "user_backfills" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"reached" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "purchase_transactions" (
	"transaction_id" text collate "C" NOT NULL,
	"line_key" text collate "C" NOT NULL,
	CONSTRAINT "purchase_transactions_transaction_id_line_key_pk" PRIMARY KEY("transaction_id","line_key")
);
--> statement-breakpoint
ALTER TABLE "user_names" ADD CONSTRAINT "user_names_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "user_names_user" ON "user_names" USING btree ("user_id","word");