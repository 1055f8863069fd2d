ALTER TABLE `subscriptions` ADD `latest_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `subscriptions_latest` ON `subscriptions` (`environment`,`latest_at`,`line_key`);