ALTER TABLE `operator_sessions` ADD `opened_with` text;--> statement-breakpoint
ALTER TABLE `operator_sessions` ADD `proven_with` text;