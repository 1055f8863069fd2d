package androidx.compose.material3

import androidx.compose.runtime.Composable

@Composable
fun Text(text: String): Unit = TODO()

@Composable
fun Button(onClick: () -> Unit, content: @Composable () -> Unit): Unit = TODO()

@Composable
fun TextButton(onClick: () -> Unit, content: @Composable () -> Unit): Unit = TODO()

@Composable
fun CircularProgressIndicator(): Unit = TODO()

@Composable
fun OutlinedTextField(value: String, onValueChange: (String) -> Unit, label: @Composable () -> Unit): Unit = TODO()

@Composable
fun AlertDialog(
    onDismissRequest: () -> Unit,
    confirmButton: @Composable () -> Unit,
    dismissButton: @Composable () -> Unit,
    text: @Composable () -> Unit,
): Unit = TODO()
