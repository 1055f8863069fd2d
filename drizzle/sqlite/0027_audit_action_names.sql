-- One name for each action, however it was called.
UPDATE `audit_entries` SET `action` = replace(`action`, ' ', '.') WHERE `action` LIKE '% %';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'users' || substr(`action`, 5) WHERE `action` LIKE 'user.%';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'users.add-note' WHERE `action` = 'users.note';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'deliveries.resend' WHERE `action` = 'webhooks.resend';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'events.replay-matching' WHERE `action` IN ('events.replay-many', 'events.retry');
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'users.refresh-purchases' WHERE `action` = 'events.reconcile';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'operators.change-role' WHERE `action` = 'operators.role';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'purchases.refresh' WHERE `action` = 'purchases.ask';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'purchases.link' WHERE `action` = 'purchases.give';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'purchases.unlink' WHERE `action` = 'purchases.take-back';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'settings.publish' WHERE `action` = 'settings.import';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'plans.publish' WHERE `action` = 'plans.import';
--> statement-breakpoint
UPDATE `audit_entries` SET `action` = 'faqs.publish' WHERE `action` = 'faqs.import';