package org.junit

annotation class Test
