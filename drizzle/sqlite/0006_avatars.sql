ALTER TABLE `upload_retries` ADD `fingerprint` text;--> statement-breakpoint
ALTER TABLE `users` ADD `avatar_key` text;