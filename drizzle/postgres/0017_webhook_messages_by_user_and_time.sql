DROP INDEX "webhook_messages_user";--> statement-breakpoint
CREATE INDEX "webhook_messages_user_created" ON "webhook_messages" USING btree ("user_id","created_at");