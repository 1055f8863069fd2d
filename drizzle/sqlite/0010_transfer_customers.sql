ALTER TABLE `transfer_ids` ADD `customer_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `transfer_ids` SET `customer_id` = coalesce((SELECT `a`.`customer_id` FROM `billing_aliases` `a` WHERE `a`.`app_user_id` = `transfer_ids`.`app_user_id`), `app_user_id`);--> statement-breakpoint
CREATE INDEX `transfer_ids_customer` ON `transfer_ids` (`customer_id`);