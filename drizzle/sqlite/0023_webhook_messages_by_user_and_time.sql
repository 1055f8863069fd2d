DROP INDEX `webhook_messages_user`;--> statement-breakpoint
CREATE INDEX `webhook_messages_user_created` ON `webhook_messages` (`user_id`,`created_at`);