package import Testing

extension Trait where Self == TimeLimitTrait {
  /// For what would hang where it is broken. The time also counts while a test waits for its place among others
  /// (`.blocking`), which on a busy machine is minutes.
  package static var endsInTime: Self { .timeLimit(.minutes(15)) }
}
