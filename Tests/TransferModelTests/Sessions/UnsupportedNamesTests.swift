import JSON
import Testing
import TransferModel

@Suite struct UnsupportedNamesTests {
  /// What is taken has no reason not to be, and what is not has one that says more than that.
  @Test func noNameIsBothTakenAndRefused() throws {
    let taken = Set(try JSONParser.parse(SessionConfiguration().json).members?.map(\.name) ?? [])
    #expect(taken.count > 20 && taken.isDisjoint(with: UnsupportedNames.configuration.keys))
    for table in [
      UnsupportedNames.configuration, UnsupportedNames.request, UnsupportedNames.task,
      UnsupportedNames.session,
    ] {
      for (name, reason) in table { #expect(reason.count > 8 && reason.last != ".", "\(name)") }
    }
  }

  @Test func aConfigurationSaysWhyItDoesNotTakeThem() throws {
    for (name, reason) in UnsupportedNames.configuration {
      for value in ["null", "false", "\"none\"", "{}"] {
        let violations = Violations()
        var reader = ObjectReader(
          try JSONParser.parse(Array(#"{"\#(name)":\#(value)}"#.utf8)), at: "/c", violations)
        _ = SessionConfiguration(validating: &reader)
        #expect(violations.all == [FieldViolation(pointer: "/c/\(name)", detail: reason)])
      }
    }
  }
}
