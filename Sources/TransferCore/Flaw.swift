/// A fault that somebody might make, to be switched on by name: a simulator that finds none has to prove that it could.
package enum Flaw: String, CaseIterable, Sendable {
  case none
}
