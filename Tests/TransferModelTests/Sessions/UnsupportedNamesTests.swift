import JSON
import Testing
import TransferModel

@Suite struct UnsupportedNamesTests {
  /// The tables contain no supported property, and each reason explains itself.
  @Test func `no name is both supported and refused`() throws {
    let taken = Set(try JSONParser.parse(SessionConfiguration().json).members?.map(\.name) ?? [])
    #expect(taken.count > 20 && taken.isDisjoint(with: UnsupportedNames.configuration.keys))
    for table in [
      UnsupportedNames.configuration, UnsupportedNames.request, UnsupportedNames.task,
      UnsupportedNames.session,
    ] {
      for (name, reason) in table { #expect(reason.count > 8 && reason.last != ".", "\(name)") }
    }
  }

  @Test func `unsupported property is reported with its reason`() throws {
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
