package import Testing

extension Trait where Self == TimeLimitTrait {
  /// A limit for tests that hang if they fail. The time includes the wait for a free place (`.blocking`), which takes
  /// minutes on a busy machine.
  package static var endsInTime: Self { .timeLimit(.minutes(15)) }
}
